// Package dptest is a conformance kit for privacy accountants: known answers and laws that every
// dp.Accountant must satisfy.
//
// # Use
//
// A test of an accountant is one line, in an external test package:
//
//	func TestConformance(t *testing.T) { dptest.Run(t, dptest.Subject{Accountant: myAccountant{}}) }
//
// The kit composes pairs whose exact δ it knows by other means (unsampled Gaussians, randomised
// response by enumeration, single steps by their profile, published compositions), and checks that
// every interval holds the exact number; that δ falls with ε, and ε rises with the number of steps;
// that composition does not depend on the order of the steps, nor on how a repetition is written;
// that ε and δ agree; that errors are the sentinels of package dp; and that extreme parameters give
// a number on the safe side or an error, never NaN and never a hang.
//
// An accountant may refuse a composition with an error, and must if it cannot bound it. A Subject
// says which compositions it must answer.
package dptest
