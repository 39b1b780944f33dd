#if canImport(Darwin)
  import Darwin

  /// sigaction(2), whose structure has other field names on every system.
  enum SignalAction {
    /// Installs a handler and returns the old action; `nil`, without a change, if the signal was ignored.
    static func install(_ handler: @convention(c) (Int32) -> Void, for number: Int32) -> sigaction? {
      var before = sigaction()
      // SIG_IGN is the address 1, which no function has.
      guard sigaction(number, nil, &before) == 0,
        unsafeBitCast(before.__sigaction_u.__sa_handler, to: Int.self) != 1
      else { return nil }
      var action = sigaction()
      action.__sigaction_u.__sa_handler = handler
      sigemptyset(&action.sa_mask)
      return sigaction(number, &action, nil) == 0 ? before : nil
    }

    static func restore(_ action: sigaction, for number: Int32) {
      var action = action
      _ = sigaction(number, &action, nil)
    }
  }
#endif
