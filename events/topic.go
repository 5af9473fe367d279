package events

// Topics that have the same name in every datacentre's Kafka. These are the names in generation 1;
// Layout.Name returns the names in other generations.
const (
	EventsTopic      = "ads.events"
	AdjustmentsTopic = "ads.adjustments"
	SpendDLQTopic    = "spendcounter.dlq"
	AuditTopic       = "spend.audit"
)

// SpendTopic returns the topic, in generation 1, of the totals of the counter of datacentre dc. dc
// must pass ValidateDC.
func SpendTopic(dc string) string { return "spend.by." + dc }

// CopiedEventsTopic returns the topic, in generation 1, of the events that are copied from
// datacentre dc. dc must pass ValidateDC.
func CopiedEventsTopic(dc string) string { return EventsTopic + ".from." + dc }

// CopiedAdjustmentsTopic returns the topic, in generation 1, of the adjustments that are copied
// from datacentre dc. dc must pass ValidateDC.
func CopiedAdjustmentsTopic(dc string) string { return AdjustmentsTopic + ".from." + dc }

// BudgetsTopic is the topic, in generation 1, of the budgets of accounts.
const BudgetsTopic = "ads.budgets"

// CopiedBudgetsTopic returns the topic, in generation 1, of the budgets that are copied from
// datacentre dc. dc must pass ValidateDC.
func CopiedBudgetsTopic(dc string) string { return BudgetsTopic + ".from." + dc }

// InsertionsTopic is the topic, in generation 1, of the ads that ad servers of a datacentre have
// shown.
const InsertionsTopic = "ads.insertions.sums"

// Application and topics of pacing, in generation 1.
const (
	PacingApp            = "pacing"
	PacingAlertsTopic    = "pacing.alerts"    // budgets that are spent in part, or run out early
	PacingSignalsTopic   = "pacing.signals"   // what controllers saw
	PacingOverridesTopic = "pacing.overrides" // overrides of operators
	PacingDLQTopic       = "pacing.dlq"       // rejected records
	SpendBilledTopic     = "spend.billed"     // what of the spend of a budget day is billed
)

// PacingTopic returns the topic, in generation 1, of how datacentre dc paces campaigns: the
// changelog of its pacing. dc must pass ValidateDC.
func PacingTopic(dc string) string { return "pacing.by." + dc }

// Applications and topics of the mirror, in generation 1.
const (
	MirrorApp          = "mirror"
	MirrorStateTopic   = "mirror.state"   // the changelog
	MirrorControlTopic = "mirror.control" // instructions of operators, as JSON
	MirrorDLQTopic     = "mirror.dlq"     // rejected instructions
)

// CopiedSpendTopic returns the topic, in generation 1, of the copy of the totals of the counter of
// datacentre dc, which dc writes in another datacentre.
func CopiedSpendTopic(dc string) string { return "spend.from." + dc }

// PushApp returns the application, in generation 1, that writes the totals of datacentre dc to
// datacentre target. It and its topics are in the Kafka of target.
func PushApp(dc, target string) string { return "push." + dc + "." + target }

// PushStateTopic returns the changelog of PushApp.
func PushStateTopic(dc, target string) string { return PushApp(dc, target) + ".state" }

// PushControlTopic returns the input topic of PushApp. It numbers the tasks, and has no records.
func PushControlTopic(dc, target string) string { return PushApp(dc, target) + ".control" }

// PushDLQTopic returns the dead-letter topic of PushApp.
func PushDLQTopic(dc, target string) string { return PushApp(dc, target) + ".dlq" }
