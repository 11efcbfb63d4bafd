package controllers_test
import ("testing";"time";"k8s.io/apimachinery/pkg/api/resource")
func TestQ(t *testing.T){ for _,s:=range []string{"1e999","1e9999","1e99999","1e999999","1e3999999","-1e-999999","1e-9999999","1e2147483648","1e99999999999999999999"} { b:=time.Now(); q,err:=resource.ParseQuantity(s); t.Log(s,time.Since(b),q.IsZero(),err)} }
