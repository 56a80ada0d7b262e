/// The calls of the protocol, for tools: `Specs/openapi.yaml` as JSON.
package enum OpenAPI {
  package static var json: [UInt8] { PackageResources.openapi_json }
}
