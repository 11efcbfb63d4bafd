package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// exchange is one request of a replica and the answer that it is owed.
type exchange struct {
	Request
	// replica that sent it, and the name of the object in its path.
	replica int
	name    string

	proxy *proxy
	w     http.ResponseWriter
	r     *http.Request
}

// forward lets the request through, and its answer back.
func (x *exchange) forward() {
	switch x.Verb {
	case "list":
		x.proxy.view.rewrite(x.r)
	case "watch":
		ctx, end, code := x.proxy.view.watch(x.r, x.Resource)
		if code != 0 {
			x.answer(code)
			return
		}
		defer end()
		x.r = x.r.WithContext(ctx)
	}
	x.proxy.relay(x, func(answer *http.Response) error {
		x.proxy.creates.answered(x.Request, answer.StatusCode)
		return nil
	})
}

// take lets the request take effect and keeps the answer from the client.
func (x *exchange) take() error {
	_, _, err := x.proxy.take(x.r)
	return err
}

// late lets the request take effect now, and then answers.
func (x *exchange) late() error {
	answer, body, err := x.proxy.take(x.r)
	if err != nil {
		x.reset()
		return err
	}
	x.proxy.creates.answered(x.Request, answer.StatusCode)
	maps.Copy(x.w.Header(), answer.Header)
	x.w.WriteHeader(answer.StatusCode)
	_, _ = x.w.Write(body) // The client may be gone; that is its fault to bear.
	return nil
}

// reset breaks the connection without an answer.
func (x *exchange) reset() {
	hijacker, ok := x.w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	connection, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // Closing then sends a reset. Should it fail, the client sees an end.
	}
	_ = connection.Close()
}

var reasons = map[int]metav1.StatusReason{
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusGone:                metav1.StatusReasonExpired,
	http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
}

// answer gives the API server's answer of a code. There is no Retry-After, so
// that client-go hands it to the operator instead of trying again by itself.
func (x *exchange) answer(code int) {
	x.proxy.creates.answered(x.Request, code)
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reasons[code], Message: fmt.Sprintf("the fault proxy answers %d to %s", code, x.Request),
	}
	body, err := json.Marshal(status)
	if err != nil {
		panic(err) // Unreachable: a status holds nothing that JSON cannot hold.
	}
	x.w.Header().Set("Content-Type", "application/json")
	x.w.WriteHeader(code)
	_, _ = x.w.Write(body)
}
