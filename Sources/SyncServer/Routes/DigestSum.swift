import CSodium
import SyncModel

/// The digest of several records: the SHA-256 of the lines `UUID DIGEST\n`, ordered by uuid.
struct DigestSum {
  private var state = crypto_hash_sha256_state()
  private(set) var count = 0

  init() { crypto_hash_sha256_init(&state) }

  mutating func add(_ record: RecordDigest) {
    let line = Array("\(record.entityUuid) \(record.digest)\n".utf8)
    crypto_hash_sha256_update(&state, line, UInt64(line.count))
    count += 1
  }

  /// 64 hexadecimal digits.
  func text() -> String {
    var state = state
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    crypto_hash_sha256_final(&state, &digest)
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
