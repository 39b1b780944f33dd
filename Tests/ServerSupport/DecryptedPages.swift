import CCrypto
import Foundation
import TestSupport

/// Returns all bytes of a SQLCipher database and of its write-ahead log, decrypted page by page: also free pages and the unused
/// parts of pages.
/// - Parameter key: the 32 bytes of the key.
package func decryptedPages(ofDatabaseAt path: String, key: [UInt8]) throws -> [UInt8] {
  let (pageBytes, logHeader, frameHeader) = (4096, 32, 24)
  var result: [UInt8] = []
  let database = Array(try Data(contentsOf: URL(filePath: path)))
  for start in stride(from: 0, to: database.count, by: pageBytes) {
    result += try decrypted(database[start..<start + pageBytes], isFirst: start == 0, key)
  }
  let logPath = path + "-wal"
  guard FileManager.default.fileExists(atPath: logPath) else { return result }
  let log = Array(try Data(contentsOf: URL(filePath: logPath)))
  for start in stride(from: logHeader, to: log.count, by: frameHeader + pageBytes) {
    guard start + frameHeader + pageBytes <= log.count else { break }
    let isFirst = log[start..<start + 4].elementsEqual([0, 0, 0, 1])
    result += try decrypted(log[start + frameHeader..<start + frameHeader + pageBytes], isFirst: isFirst, key)
  }
  return result
}

/// Decrypts a page: AES-256 in CBC mode, with the initialization vector in the last 80 bytes, before the HMAC. The first page of a
/// database begins with the salt.
private func decrypted(_ page: ArraySlice<UInt8>, isFirst: Bool, _ key: [UInt8]) throws -> [UInt8] {
  let (reserved, salt) = (80, isFirst ? 16 : 0)
  let cipher = Array(page.dropFirst(salt).dropLast(reserved))
  let vector = Array(page.suffix(reserved).prefix(16))
  guard let context = EVP_CIPHER_CTX_new() else { throw Unexpected("no memory for a cipher") }
  defer { EVP_CIPHER_CTX_free(context) }
  var plain = [UInt8](repeating: 0, count: cipher.count + 32)
  var count: Int32 = 0
  guard EVP_DecryptInit_ex(context, EVP_aes_256_cbc(), nil, key, vector) == 1,
    EVP_CIPHER_CTX_set_padding(context, 0) == 1,
    EVP_DecryptUpdate(context, &plain, &count, cipher, Int32(cipher.count)) == 1
  else { throw Unexpected("a page cannot be decrypted") }
  return Array(plain.prefix(Int(count)))
}
