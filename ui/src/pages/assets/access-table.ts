import type { Schemas } from "../../api/client";

export type AccessTable = Schemas["AccessTableResponse"];
export type Row = AccessTable["rows"][number];
export type Column = AccessTable["columns"][number];
