package v1alpha1_test

import (
	"encoding/json"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

func TestAmountIsReadAsWritten(t *testing.T) {
	for text, c := range map[string]struct {
		amount v1alpha1.Amount
		want   string
	}{
		`"500m"`: {"500m", "500m"},
		`2`:      {"2", "2"},
		`"2"`:    {"2", "2"},
		`"1Gi"`:  {"1Gi", "1Gi"},
		`1e3`:    {"1e3", "1000"},
		`"1E3"`:  {"1E3", "1000"},
		`0.5`:    {"0.5", "500m"},
		`0`:      {"0", "0"},
		`"1E"`:   {"1E", "1000000000000000000"},
	} {
		t.Run(text, func(t *testing.T) {
			var amount v1alpha1.Amount
			require.NoError(t, json.Unmarshal([]byte(text), &amount))
			assert.Equal(t, c.amount, amount)
			quantity, err := amount.Quantity()
			require.NoError(t, err)
			want := resource.MustParse(c.want)
			assert.Zero(t, quantity.Cmp(want), "%s is not %s", &quantity, &want)
		})
	}
}

// Case A05: one document that the API server stored, whatever it holds, must not
// keep the operator from reading the others.
func TestA05AmountThatTheSchemaRefusesIsReadAndIsNoQuantity(t *testing.T) {
	for _, text := range []string{
		"1e1.5", "1e99999999999999999999", "1e-9999999", "1e10", "1000E", "-1", "+1", "", " 1", "1 ", ".5", "5.", "1Mb", "1g", "1K", "0x10", "NaN", "\u0661", "1\n",
		strings.Repeat("1", 40), "0." + strings.Repeat("1", 40),
	} {
		t.Run(text, func(t *testing.T) {
			stored, err := json.Marshal(text)
			require.NoError(t, err)
			var amount v1alpha1.Amount
			require.NoError(t, json.Unmarshal(stored, &amount))
			_, err = amount.Quantity()
			assert.Error(t, err)
		})
	}
	for _, text := range []string{`1e99999999999999999999`, `-1`, `true`, `{"a":1}`, `[1]`} {
		var resources v1alpha1.Resources
		require.NoError(t, json.Unmarshal([]byte(`{"limits":{"cpu":`+text+`}}`), &resources))
		_, err := resources.Limits[corev1.ResourceCPU].Quantity()
		assert.Error(t, err, text)
	}
}

// pattern is that of the schema, from the mark on the type.
func pattern(t testing.TB) *regexp.Regexp {
	t.Helper()
	source, err := os.ReadFile("resources.go")
	require.NoError(t, err)
	found := regexp.MustCompile("(?m)^// \\+kubebuilder:validation:Pattern=`(.+)`$").FindSubmatch(source)
	require.NotNil(t, found)
	return regexp.MustCompile(string(found[1]))
}

func FuzzAmount(f *testing.F) {
	schema := pattern(f)
	for _, seed := range []string{"500m", "2", `"2"`, "1Gi", "1e3", "0.5", "1e1.5", "1e-9999999", `"\ud800"`, "\xff", "null", `{"a":`, ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var amount v1alpha1.Amount
		require.NoError(t, amount.UnmarshalJSON(text))
		quantity, err := amount.Quantity()
		if !schema.MatchString(string(amount)) {
			assert.Error(t, err, "%q", amount)
		}
		if err != nil {
			return
		}
		assert.GreaterOrEqual(t, quantity.Sign(), 0)
		if quantity.Cmp(*resource.NewQuantity(math.MaxInt64, resource.DecimalSI)) > 0 {
			return // Kubernetes promises nothing about more.
		}
		again, err := resource.ParseQuantity(quantity.String())
		require.NoError(t, err)
		assert.Zero(t, quantity.Cmp(again), "%q", amount)
	})
}
