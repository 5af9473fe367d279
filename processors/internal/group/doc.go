// Package group is the assignor: it plans which member of a consumer group folds which partition, and which instances keep it warm. It is arithmetic on
// what the members say of themselves, without Kafka and without memory.
//
//	members: claims, changelog offsets ─▶ goal: even, few moves ─▶ now: the goal, or who is warm ─▶ Plan
//	                                                              └▶ standbys, and warming where now is not the goal
//
// A member is a session; the members of one instance share a store, so a partition that moves among them needs no warming.
//
// Invariants:
//
//  1. Every partition is active at one member, or at none for one round: while its owner gives it up.
//  2. A partition that is folded leaves its owner only for an instance that has caught up, or for another member of the same
//     instance. One whose owner is gone goes to an instance that has caught up, if there is any.
//  3. Once the warming instances have caught up, the numbers of partitions of two members differ by one at most.
//  4. The plan for what a plan led to is that plan: nothing moves without a reason.
//
// It follows the idea of KIP-441 without its probing interval: an instance says itself when it has caught up. It knows no
// racks and no weights.
package group
