import FileServer
import Foundation

/// Returns an object store with the credentials of the S3 reference.
package func objectStore(_ endpoint: String, addressSeconds: Int = 600) throws -> ObjectStore {
  var secret = Array("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".utf8)
  return try ObjectStore(
    endpoint: endpoint, bucket: "photos",
    credentials: ObjectStoreCredentials(accessKeyId: "AKIAIOSFODNN7EXAMPLE", wipingSecret: &secret),
    addressSeconds: addressSeconds)
}

/// Writes the file that `--s3-credentials` names.
package func writeObjectStoreCredentials(to path: String) throws {
  try "AKIDEXAMPLE\nwJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\n".write(toFile: path, atomically: true, encoding: .utf8)
  chmod(path, 0o600)
}
