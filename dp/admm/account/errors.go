package account

import "coupling/dp/internal/check"

// ErrParameter marks a parameter out of range; the message names it and its value. It is dp.ErrParameter.
var ErrParameter = check.ErrParameter

const in = check.In("account")

var bad = in.Bad
