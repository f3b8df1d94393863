"""From what a request says about its caller to an `Actor`, or to the reason why not."""
