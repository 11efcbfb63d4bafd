// Package stages is a small runtime for Kubernetes controllers on controller-runtime. A controller is written as
// ordered stages that each establish a condition; the package runs them, reports what happened in the object's status
// and in Events, and tells the queue when to come back.
//
// # A controller in one look
//
//	b := stages.For[*v1.Settings]("settings", stages.Owns(&corev1.ConfigMap{}))
//	b.Stage("ConfigurationReady").Do(configure)
//	b.Stage("ChecksumReady").After("ConfigurationReady").Do(checksum)
//	c, err := b.Build(mgr.GetClient(), mgr.GetAPIReader())
//	...
//	err = c.SetupWithManager(mgr)
//
// A [Handler] gets a [Pass]: the object, the time, and the ways to report and to write children.
//
//	func configure(ctx context.Context, pass *stages.Pass[*v1.Settings]) error {
//		if pass.Object().Spec.Suspended {
//			return stages.Wait("Suspended", "Set spec.suspended to false to go on.", 5*time.Minute)
//		}
//		return pass.Ensure(ctx, &corev1.ConfigMap{Data: map[string]string{"message": pass.Object().Spec.Message}})
//	}
//
// # One entry point
//
// A controller has exactly one of: a plain handler ([Builder.Reconcile]), stages ([Builder.Stage]), or root cases
// ([Builder.Root]). A stage is named by the condition that it establishes, and has either a handler or cases. Cases are
// tried in order, the first whose predicate holds runs, and an otherwise is required. Stages and cases name what they
// come after; the result must be one unique order, and the order of registration never matters. [Builder.Validate] and
// [Builder.Build] refuse everything else and name the culprits. Stages can also be written as plain data
// ([Builder.Embed]).
//
// # A pass
//
// A pass runs over one object as the cache has it. It always starts at the first stage: conditions are observations of
// this pass, never a record of what needs no further look. Handlers must therefore be idempotent. The first stage that
// does not succeed ends the pass. Then, in this order: the conditions are staged, the [Builder.Summarize] hook runs,
// the status is written if it differs (at most once), and the Events are sent.
//
// # Outcomes
//
//	handler returns     active condition   later ones   Ready    what comes next
//	nil                 True               go on        True     Every, or RequeueAfter of the pass
//	Wait                False              Unknown      False    a pass after the delay (30 s by default)
//	Stop                False              Unknown      False    RequeueAfter of the pass, else nothing until new input or a resync
//	any error, Fail     False              Unknown      False    a retry: 1 s, doubled up to 60 s, with jitter
//	Terminal            False              Unknown      False    nothing until new input or a resync
//	a panic, a timeout  False              Unknown      False    a retry, as for an error
//	a conflict          as before          as before    as before  a new pass soon, quietly; the 51st in a row is an error
//	(shutdown)          as before          as before    as before  nothing is written
//
// Outcomes are found through wrapping; of several the first counts. An ordinary error shows users the stage and the class
// of the error, never its text, which may hold secrets; the text goes to the log. Use [Fail] to say more.
//
// # Status
//
// A type opts into automatic conditions by implementing [Reporter]. Status fields are set on [Pass.Object], further
// conditions with [Pass.Condition]; both persist even when the pass fails later. Edits of spec and metadata are dropped,
// unless [Pass.Save] writes them. The status write carries UID and resource version. When it conflicts, the whole pass
// runs again; when it fails otherwise, the pass is retried, even after a terminal error.
//
// # Children
//
// [Pass.Ensure] applies a child server-side and sends nothing when nothing would change (package apply). It never touches
// an object that the primary does not control. [Pass.Get] reads past the cache, for what an earlier stage has just written.
//
// # Events
//
// [Pass.Event] queues an Event; the runtime adds one for each change of a condition and a Warning for each failure.
// They are sent after the status is written, have a time budget of their own, and never cause a retry.
package stages
