// Package membership attacks a generator: from what it generates, who was among its training examples?
//
//	r, err := membership.Run(ctx, generated, members, others)
//	fmt.Println(r)   // AUC 0.503 (95%: 0.487–0.519); true positives at 0.1%, 1% and 10% false ones
//
// It is a sanity check. An attack that succeeds shows a leak; one that fails shows that this attack fails, not that
// there is none: guarantees come from an accountant, and what an adversary with the mechanism in hand can do is for
// dp/audit to say.
//
// # A worked example
//
// A "generator" that returns its training images has one at distance 0 of each member and none at 0 of others: AUC 1,
// and every member is found at no false accusation. Images that are independent of the members are as far from them as
// from others: AUC ½ up to the width of its interval, which for 1,000 of each is ±0.025.
//
// # The attack
//
// The score of an example is minus its distance to the nearest generated one (Chen et al. 2020, "GAN-Leaks", full black
// box). The others must come from the members' distribution and be disjoint of them: members from the training images
// and others from the test images of a data set, as long as these are equally distributed.
//
// Intervals hold for further examples against the same generated images; they say nothing of another generator.
//
// Sources: Chen, Yu, Zhang and Fritz (2020); Hanley and McNeil (1982) and Newcombe (2006), method
// 5, for the interval of the AUC; Clopper and Pearson (1934); Carlini et al. (2022), "Membership
// inference attacks from first principles", for why rates at few false positives matter more than
// the AUC.
package membership
