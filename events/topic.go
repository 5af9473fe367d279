package events

// Topics that have the same name in every datacentre's Kafka. These are the names in generation 1;
// Layout.Name returns the names in other generations.
const (
	EventsTopic      = "ads.events"
	AdjustmentsTopic = "ads.adjustments"
	SpendDLQTopic    = "spendcounter.dlq"
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

// Applications and topics of the mirror, in generation 1.
const (
	MirrorApp          = "mirror"
	MirrorStateTopic   = "mirror.state"   // the changelog
	MirrorControlTopic = "mirror.control" // instructions of operators, as JSON
	MirrorDLQTopic     = "mirror.dlq"     // rejected instructions
)
