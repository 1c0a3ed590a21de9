package account

import "coupling/dp/internal/check"

// ErrParameter marks a parameter out of range; the message names it and its value. It is dp.ErrParameter.
var ErrParameter = check.ErrParameter

var bad = check.In("account").Bad
