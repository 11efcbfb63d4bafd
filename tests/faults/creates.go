package main

import (
	"net/http"
	"slices"
	"sync"
)

// creates follows the creates of Jobs in one step of a life, of which each
// replica knows nothing but what it was answered: a create whose outcome is
// unknown must not be sent again before a read past the cache has told it
// (seed create-outcome-unknown).
type creates struct {
	mu      sync.Mutex
	unknown bool
	broken  []string
}

// definite are the answers that tell whether the create took effect.
var definite = []int{
	http.StatusCreated, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
	http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
}

// begin forgets the former step, whose Job has another name.
func (c *creates) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unknown = false
}

// sent notes a request that has left a replica.
func (c *creates) sent(request Request) {
	if request.Verb != "create" || request.Resource != "jobs" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unknown {
		c.broken = append(c.broken, "a create of unknown outcome was repeated without a live read: "+request.String())
	}
	c.unknown = true
}

// answered notes an answer on its way back.
func (c *creates) answered(request Request, code int) {
	if request.Resource != "jobs" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case request.Verb == "create" && slices.Contains(definite, code):
		c.unknown = false
	case request.Verb == "get" && (code == http.StatusOK || code == http.StatusNotFound):
		c.unknown = false
	}
}

// violations lists what was broken so far.
func (c *creates) violations() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.broken)
}
