#if os(Linux)
  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// sigaction(2), whose structure has other field names on every system.
  enum SignalAction {
    /// Installs a handler and returns the old action; `nil`, without a change, if the signal was ignored.
    static func install(_ handler: @convention(c) (Int32) -> Void, for number: Int32) -> sigaction? {
      var before = sigaction()
      guard sigaction(number, nil, &before) == 0, !isIgnored(before) else { return nil }
      var action = sigaction()
      #if canImport(Glibc)
        action.__sigaction_handler.sa_handler = handler
      #else
        action.__sa_handler.sa_handler = handler
      #endif
      sigemptyset(&action.sa_mask)
      return sigaction(number, &action, nil) == 0 ? before : nil
    }

    static func restore(_ action: sigaction, for number: Int32) {
      var action = action
      _ = sigaction(number, &action, nil)
    }

    private static func isIgnored(_ action: sigaction) -> Bool {
      // SIG_IGN is the address 1, which no function has.
      #if canImport(Glibc)
        unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
      #else
        unsafeBitCast(action.__sa_handler.sa_handler, to: Int.self) == 1
      #endif
    }
  }
#endif
