import SyncModel

struct OpenAPI { let limits: ServerLimits; var document: SyncValue { [:] } }
