import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

// sigaction(2), whose C types differ between systems.

func install(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
  var action = sigaction()
  #if canImport(Darwin)
    action.__sigaction_u.__sa_handler = handler
  #else
    action.__sigaction_handler.sa_handler = handler
  #endif
  // Reads and writes that are under way go on.
  action.sa_flags = Int32(SA_RESTART)
  sigemptyset(&action.sa_mask)
  sigaction(number, &action, nil)
}

func isIgnored(_ number: Int32) -> Bool {
  var action = sigaction()
  guard sigaction(number, nil, &action) == 0 else { return false }
  #if canImport(Darwin)
    let handler = action.__sigaction_u.__sa_handler
  #else
    let handler = action.__sigaction_handler.sa_handler
  #endif
  // SIG_IGN is the address 1, which no function has.
  return unsafeBitCast(handler, to: UInt.self) == 1
}

func setCloseOnExec(_ descriptor: Int32) {
  _ = cplatform_fcntl(descriptor, F_SETFD, FD_CLOEXEC)
}

func readByte(_ descriptor: Int32) -> UInt8? {
  var byte: UInt8 = 0
  while true {
    let count = read(descriptor, &byte, 1)
    if count == 1 { return byte }
    if count == 0 || errno != EINTR { return nil }
  }
}
