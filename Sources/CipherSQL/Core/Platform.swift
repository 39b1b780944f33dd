// A connection reads and writes `UUID`, `Date` and `CalendarDay`, whose texts, times and randomness are those of
// Platform.
@_exported import Platform
