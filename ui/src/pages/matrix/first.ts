/** What the choice of a first question needs to know of an operation. */
interface Operation {
  types: string[];
  ways: string[];
}

const HOLDS_DATA = ["table", "dataset"];

/** The operation of the first matrix: reading tables, or else reading something. */
export function firstOperation<One extends Operation>(operations: One[]): One | undefined {
  const reading = operations.filter((one) => one.ways.includes("read"));
  return reading.find((one) => one.types.includes("table")) ?? reading[0] ?? operations[0];
}

/** The type of its entities: the one that holds data, or else the first. */
export function firstType(types: string[]): string | undefined {
  return types.find((one) => HOLDS_DATA.includes(one)) ?? types[0];
}
