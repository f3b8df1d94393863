// The part of the Hive metastore's interface that is read. Fields that are not named here are passed over.
// SOURCE: Apache Hive, hive_metastore.thrift, 3.1 to 4.1.

enum PrincipalType { USER = 1, ROLE = 2, GROUP = 3 }

enum HiveObjectType { GLOBAL = 1, DATABASE = 2, TABLE = 3, PARTITION = 4, COLUMN = 5, DATACONNECTOR = 6 }

enum ClientCapability { TEST_CAPABILITY = 1, INSERT_ONLY_TABLES = 2 }

exception MetaException { 1: string message }
exception NoSuchObjectException { 1: string message }
exception InvalidOperationException { 1: string message }
exception UnknownDBException { 1: string message }

struct FieldSchema { 1: string name }
struct StorageDescriptor { 1: list<FieldSchema> cols }

struct Database {
  1: string name
  6: optional string ownerName
  7: optional PrincipalType ownerType
}

struct Table {
  1: string tableName
  3: string owner
  7: StorageDescriptor sd
  8: list<FieldSchema> partitionKeys
  12: string tableType
  18: optional PrincipalType ownerType
}

struct ClientCapabilities { 1: required list<ClientCapability> values }

struct GetTablesRequest {
  1: required string dbName
  2: optional list<string> tblNames
  3: optional ClientCapabilities capabilities
  4: optional string catName
}
struct GetTablesResult { 1: required list<Table> tables }
struct GetCatalogsResponse { 1: list<string> names }

struct HiveObjectRef {
  1: HiveObjectType objectType
  2: string dbName
  3: string objectName
  4: list<string> partValues
  5: string columnName
  6: optional string catName
}
struct PrivilegeGrantInfo { 1: string privilege }
struct HiveObjectPrivilege {
  1: HiveObjectRef hiveObject
  2: string principalName
  3: PrincipalType principalType
  4: PrivilegeGrantInfo grantInfo
  5: string authorizer
}

struct RolePrincipalGrant {
  1: string roleName
  2: string principalName
  3: PrincipalType principalType
}
struct GetPrincipalsInRoleRequest { 1: required string roleName }
struct GetPrincipalsInRoleResponse { 1: required list<RolePrincipalGrant> principalGrants }

service ThriftHiveMetastore {
  GetCatalogsResponse get_catalogs() throws (1: MetaException o1)
  list<string> get_databases(1: string pattern) throws (1: MetaException o1)
  Database get_database(1: string name) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<string> get_all_tables(1: string db_name) throws (1: MetaException o1)
  GetTablesResult get_table_objects_by_name_req(1: GetTablesRequest req)
    throws (1: MetaException o1, 2: InvalidOperationException o2, 3: UnknownDBException o3)
  list<string> get_role_names() throws (1: MetaException o1)
  GetPrincipalsInRoleResponse get_principals_in_role(1: GetPrincipalsInRoleRequest request)
    throws (1: MetaException o1)
  list<HiveObjectPrivilege> list_privileges(1: string principal_name, 2: PrincipalType principal_type,
    3: HiveObjectRef hiveObject) throws (1: MetaException o1)
}
