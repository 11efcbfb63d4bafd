// Package guard decides how to go on with the Job of a command, so that the
// program of one generation starts at most once, whatever fails and whenever
// (seed create-outcome-unknown; design section 7; docs/decisions/0003).
//
// What is known of a generation is kept in three places, each written before
// the step that it guards:
//
//  1. The mark, the annotation create-pending of the LoomAgent: a create may
//     have been sent. It is written before the Job is created.
//  2. The record, workload.uid in the status: this Job, and no other, is the
//     run. It is written before the Job is resumed. The Job is created
//     suspended, so a Job that is not recorded has never run.
//  3. The start, the annotation run of the LoomAgent, which takes the place of
//     the mark: the recorded Job may have been resumed. It outlives a status
//     that a backup tool wiped.
//
// Everything here is pure: facts go in, the next step comes out.
package guard
