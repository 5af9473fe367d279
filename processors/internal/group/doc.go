// Package group is the assignor. It plans which member of a consumer group owns which partition,
// and which instances keep a partition warm. The plan is a pure function of what the members
// publish: it asks Kafka nothing and keeps no state.
//
//	members: claims, changelog offsets ─▶ goal: even, few moves ─▶ now: the goal, or a warm member ─▶ Assignment
//	                                                            └▶ standbys, and warm-ups where now is not the goal
//
// If the processor has N partitions, it assigns the first N of the inputs. Further partitions,
// which an administrator has added, have no owner. The exclusive member of package offline assigns
// by the same plan.
//
// A member is one session. The members of one instance share a store, so a partition that moves
// between them needs no warm-up.
//
// Invariants:
//
//   - RUN-15: Every partition is active at one member. While its old owner releases it, it is
//     active at none for one round, and the plan is marked as incomplete.
//   - RUN-16: A running partition moves only to an instance that has caught up, or to another
//     member of the same instance. A partition without an owner goes to an instance that has caught
//     up, if there is one.
//   - RUN-17: Once the instances that warm up have caught up, the instances' numbers of partitions
//     differ by at most one, and so do those of the members of each instance. The share of an
//     instance does not depend on its number of members.
//   - RUN-18: A plan is stable: planning its result again returns the same plan.
//
// It follows KIP-441 without the probing interval: an instance reports that it has caught up. Racks
// and weights of instances are not considered.
package group
