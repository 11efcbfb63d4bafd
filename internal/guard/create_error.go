package guard

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Outcome is what the answer to a create says about the Job.
type Outcome string

// The outcomes of a create.
const (
	// Created: the Job is there.
	Created Outcome = "Created"
	// Refused: the API server answered that it did not create the Job.
	Refused Outcome = "Refused"
	// Exists: a Job of that name is there already, whoever made it.
	Exists Outcome = "Exists"
	// Unknown: the Job may be there or not. Only a read can tell.
	Unknown Outcome = "Unknown"
)

// OutcomeOf judges the answer to a create (case A20). Only answers that the
// API server gives instead of storing the object are a refusal; a timeout, a
// lost connection or an internal error can come after the object was stored.
func OutcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return Created
	case apierrors.IsAlreadyExists(err):
		return Exists
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err),
		apierrors.IsTooManyRequests(err), apierrors.IsUnauthorized(err), apierrors.IsNotFound(err),
		apierrors.IsRequestEntityTooLargeError(err), apierrors.IsMethodNotSupported(err):
		return Refused
	default:
		return Unknown
	}
}
