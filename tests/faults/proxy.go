package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// proxy stands between the replicas of an operator and the API server. It
// numbers their requests, and hands each to whoever wants to disturb it.
type proxy struct {
	url      string
	server   *http.Server
	upstream *url.URL
	through  http.RoundTripper
	view     *view
	creates  *creates
	// disturb answers an exchange in its own way, or returns false.
	disturb func(*exchange) bool

	mu      sync.Mutex
	step    string
	counted map[Request]int
	seen    []Request
	writing int       // writes under way
	wrote   time.Time // when the last write came or ended
	refused func(Request) bool
	until   time.Time // refused counts until then
}

// newProxy starts a proxy on a port of its own. Replica i reaches the API
// server through it under the path /i, with the proxy's login: over plain HTTP
// client-go sends none.
func newProxy(ctx context.Context, login *rest.Config, disturb func(*exchange) bool) (*proxy, error) {
	through, err := rest.TransportFor(login)
	if err != nil {
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	upstream, err := url.Parse(login.Host)
	if err != nil {
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	p := &proxy{
		url: "http://" + listener.Addr().String(), upstream: upstream, through: through, disturb: disturb,
		counted: map[Request]int{}, wrote: time.Now(), view: newView(), creates: &creates{},
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = p.server.Serve(listener) }() // It always ends with ErrServerClosed.
	return p, nil
}

func (p *proxy) close() error {
	p.view.cut(0)
	return p.server.Close()
}

// begin names the step of the life that the coming requests belong to.
func (p *proxy) begin(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = step
	p.creates.begin()
}

// present is the step that requests belong to now.
func (p *proxy) present() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.step
}

// refuse forbids the requests that match, for a while.
func (p *proxy) refuse(which func(Request) bool, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused, p.until = which, time.Now().Add(d)
}

func (p *proxy) refuses(request Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused != nil && time.Now().Before(p.until) && p.refused(request)
}

// requests lists what was sent so far, in the order it came.
func (p *proxy) requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Request(nil), p.seen...)
}

// quiet tells for how long nothing was written; zero while a write is under way.
func (p *proxy) quiet() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.writing > 0 {
		return 0
	}
	return time.Since(p.wrote)
}

// ServeHTTP handles one request of a replica.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var replica int
	if _, err := fmt.Sscanf(r.URL.Path, "/%d/", &replica); err != nil {
		http.Error(w, "the path does not begin with the number of a replica", http.StatusBadRequest)
		return
	}
	r.URL.Path = strings.TrimPrefix(r.URL.Path, fmt.Sprintf("/%d", replica))
	// What a fault does to the sender must not cut short what it has sent.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // The sender is gone, and has sent no request.
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	about := targetOf(r)
	x := &exchange{proxy: p, replica: replica, name: about.name, w: w, r: r}
	if about.resource == "leases" { // They come and go with time, not with the life.
		x.forward()
		return
	}
	x.Request = p.count(about)
	defer p.done(x.Request)
	p.creates.sent(x.Request)
	switch {
	case p.refuses(x.Request):
		x.answer(http.StatusForbidden)
	case p.disturb == nil || !p.disturb(x):
		x.forward()
	}
}

// count gives the request its number.
func (p *proxy) count(about target) Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	request := Request{Step: p.step, Verb: about.verb, Resource: about.resource}
	p.counted[request]++
	request.N = p.counted[request]
	p.seen = append(p.seen, request)
	if request.Write() {
		p.writing, p.wrote = p.writing+1, time.Now()
	}
	return request
}

func (p *proxy) done(request Request) {
	if !request.Write() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing, p.wrote = p.writing-1, time.Now()
}

// relay passes a request on and its answer back. An API server that cannot be
// reached looks to the client as it would without the proxy.
func (p *proxy) relay(x *exchange, answered func(*http.Response) error) {
	relay := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(p.upstream) },
		Transport:      p.through,
		FlushInterval:  -1, // Watch events must not wait in a buffer.
		ModifyResponse: answered,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { x.reset() },
		ErrorLog:       log.New(io.Discard, "", 0),
	}
	relay.ServeHTTP(x.w, x.r)
}

// take sends a request to the API server and waits for the answer, also when
// the client does not wait for it any more.
func (p *proxy) take(r *http.Request) (*http.Response, []byte, error) {
	out := r.Clone(context.WithoutCancel(r.Context()))
	out.RequestURI = ""
	(&httputil.ProxyRequest{In: r, Out: out}).SetURL(p.upstream)
	answer, err := p.through.RoundTrip(out)
	if err != nil {
		return nil, nil, fmt.Errorf("pass on %s %s: %w", r.Method, r.URL.Path, err)
	}
	body, err := io.ReadAll(answer.Body)
	return answer, body, errors.Join(err, answer.Body.Close())
}
