import FileServer

/// Returns an object store with the credentials of the S3 reference.
package func objectStore(_ endpoint: String, addressSeconds: Int = 600) throws -> ObjectStore {
  var secret = Array("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".utf8)
  return try ObjectStore(
    endpoint: endpoint, bucket: "photos",
    credentials: ObjectStoreCredentials(accessKeyId: "AKIAIOSFODNN7EXAMPLE", wipingSecret: &secret),
    addressSeconds: addressSeconds)
}
