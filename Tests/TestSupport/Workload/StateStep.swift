/// Of many states of one kind, tests in release look at each, and in debug, where all is an order of magnitude slower, at one in `debug`.
public func stateStep(debug: Int) -> Int {
  #if DEBUG
    debug
  #else
    1
  #endif
}
