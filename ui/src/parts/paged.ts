import { useQueries, useQuery } from "@tanstack/react-query";
import { useCallback, useState } from "react";

/** Parts start every so many rows, and hold twice as many: any screenful lies within one part. */
export const STEP = 100;
const LENGTH = 2 * STEP;

/** A part of a list, and how many rows the whole list has. */
export interface Part<Row> {
  rows: Row[];
  total: number;
  /** What the server says about the whole list. */
  notes?: string[];
}

/** Reads a part of a list from the server; throws its problem. */
export type ReadPart<Row> = (
  skip: number,
  limit: number,
  signal: AbortSignal,
) => Promise<Part<Row>>;

/** A list on the server, of which the visible parts are loaded. */
export interface PagedList<Row> {
  total: number;
  notes: string[];
  /** The row, once its part is loaded. */
  at: (index: number) => Row | undefined;
  /** Loads the parts with these rows, and cancels those that are no longer needed. */
  show: (first: number, last: number) => void;
  isPending: boolean;
  error: unknown;
  refetch: () => void;
}

/**
 * A list of any length. `key` identifies the list: after a change of the key, the old rows are
 * shown until the first part of the new list is loaded.
 */
export function usePagedList<Row>(key: readonly unknown[], read: ReadPart<Row>): PagedList<Row> {
  const [parts, setParts] = useState<readonly number[]>([]);
  const options = (part: number) => ({
    queryKey: [...key, "part", part],
    queryFn: ({ signal }: { signal: AbortSignal }) => read(part * STEP, LENGTH, signal),
    retry: false,
  });
  const head = useQuery({ ...options(0), placeholderData: (before?: Part<Row>) => before });
  const further = parts.filter((part) => part > 0);
  const results = useQueries({ queries: further.map(options) });
  const show = useCallback((first: number, last: number) => {
    const wanted = partsOf(first, last);
    setParts((before) => (before.join() === wanted.join() ? before : wanted));
  }, []);
  return {
    total: head.data?.total ?? 0,
    notes: head.data?.notes ?? [],
    at: (index) => {
      const step = Math.floor(index / STEP);
      if (index < LENGTH) return head.data?.rows[index];
      for (const part of [step, step - 1]) {
        const rows = results[further.indexOf(part)]?.data?.rows;
        if (rows) return rows[index - part * STEP];
      }
      return undefined;
    },
    show,
    isPending: head.isPending,
    error: head.error ?? results.find((one) => one.error)?.error,
    refetch: () => {
      void head.refetch();
      for (const one of results) if (one.error) void one.refetch();
    },
  };
}

/** The numbers of the parts that hold the rows: one, unless the rows are more than a screenful. */
export function partsOf(first: number, last: number): number[] {
  const from = Math.floor(Math.max(first, 0) / STEP);
  if (last < LENGTH) return [0];
  const parts = [];
  for (let part = from; part * STEP <= last; part += 2) parts.push(part);
  return parts;
}
