// Package inflight estimates what ads that were shown will still cost: they are charged when a user
// sees or clicks them, seconds to minutes later, or never. It is pure.
//
//	expected cost of the ads that ad servers have shown ─▶ Estimate.Step ─▶ in flight, cost of the tick
//	spend of the campaign ──────────────────────────────────┘   │
//	                                                            └─ a filter for each of Delays
//
// Each filter takes the ads to be charged after an exponential delay with a mean of its own, and
// predicts the charges of the step. A filter learns the ratio of what was charged to what it has
// predicted: expected costs are estimates of a click rate, and some ad servers may not report. The
// errors of the predictions show which delays are likely. The estimate is the mean over the
// filters, weighted by that likelihood. The lag of the spend is part of the delay.
//
// The delays are learnt while the traffic changes: at a constant rate all of them predict the same.
// Until then all are as likely, and the estimate has their mean.
//
// Source of the sum over price, probability of the charge and age: the pacing service of Twitter,
// which counts what insertions are expected to cost.
//
// # Invariants
//
//   - PACE-33: What is in flight is never negative, never NaN, and at most the expected cost of the
//     ads of the day, times the greatest ratio. Without new ads it falls to nothing. If money is
//     multiplied by a number, so is the estimate.
//
// # What it does not do
//
// It knows no clock, no campaign and no topic. Refunds lower the spend, and are not charges: a step
// with a negative charge is taken as one without.
package inflight
