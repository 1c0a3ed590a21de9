// Package gallery writes figures to disk: the pictures in the formats asked for, their tables as CSV,
// a JSON page with claims and manifest for programs, and one index.html for people, which shows every
// figure beside the claims that it was checked against and the command that remakes it.
package gallery
