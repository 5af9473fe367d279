package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/jobqueue/queues"
)

// JobQueues is a collector of the gauges of job queues: weir_jobqueue_*. It reads what the shards
// of this process show when it is scraped.
type JobQueues struct {
	shown func() []*queues.Shown

	jobs, agents, wait, want, alarms *prometheus.Desc
}

// NewJobQueues returns a collector of what the partitions that this process runs show.
func NewJobQueues(shown func() []*queues.Shown) *JobQueues {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("weir_jobqueue_"+name, help, append([]string{"queue", "partition"}, labels...), nil)
	}
	return &JobQueues{
		shown:  shown,
		jobs:   desc("jobs", "Jobs by state, with those that are evicted.", "state"),
		agents: desc("agents", "Agents that are up."),
		wait:   desc("oldest_wait_seconds", "Longest wait of a job that is the first of its signature."),
		want:   desc("wanted_slots", "Slots that keep the target of the wait: a sum over the jobs that require the same resources."),
		alarms: desc("alarms", "Alarms that are not over, by kind.", "kind"),
	}
}

// maxQueues limits the queues of a partition that have gauges.
const maxQueues = 1000

// Describe implements prometheus.Collector.
func (j *JobQueues) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{j.jobs, j.agents, j.wait, j.want, j.alarms} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (j *JobQueues) Collect(ch chan<- prometheus.Metric) {
	for _, shown := range j.shown() {
		partition := strconv.Itoa(int(shown.Partition()))
		list := shown.Queues()
		for _, q := range list[:min(len(list), maxQueues)] {
			gauge := func(d *prometheus.Desc, value float64, labels ...string) {
				ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{q.Name, partition}, labels...)...)
			}
			for state := jobqueue.Delayed; state <= jobqueue.Canceled; state++ {
				gauge(j.jobs, float64(q.Jobs[state]), state.String())
			}
			gauge(j.agents, float64(q.Agents))
			gauge(j.wait, float64(q.OldestMs)/1000)
			gauge(j.want, float64(q.Want))
			for kind, n := range q.Alarms {
				gauge(j.alarms, float64(n), jobqueue.AlarmKind(kind).String())
			}
		}
	}
}
