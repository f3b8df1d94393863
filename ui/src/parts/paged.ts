import { useQueries, useQuery } from "@tanstack/react-query";
import { useCallback, useState } from "react";

/** Rows asked for at once. */
export const PAGE = 100;

/** A part of a list, and how many rows the whole list has. */
export interface Part<Row> {
  rows: Row[];
  total: number;
}

/** Reads a part of a list from the server; throws what it answers instead. */
export type ReadPart<Row> = (
  skip: number,
  limit: number,
  signal: AbortSignal,
) => Promise<Part<Row>>;

/** A list on the server, of which the parts that are looked at are here. */
export interface PagedList<Row> {
  total: number;
  /** The row, once its part has come. */
  at: (index: number) => Row | undefined;
  /** Asks for the parts with these rows, and gives up those that nobody waits for any more. */
  show: (first: number, last: number) => void;
  isPending: boolean;
  error: unknown;
  refetch: () => void;
}

/**
 * A list of any length. `key` names the list: with another key it is another list, of which
 * the old rows are shown until the first part of the new ones has come.
 */
export function usePagedList<Row>(key: readonly unknown[], read: ReadPart<Row>): PagedList<Row> {
  const [pages, setPages] = useState<readonly number[]>([]);
  const options = (page: number) => ({
    queryKey: [...key, "page", page],
    queryFn: ({ signal }: { signal: AbortSignal }) => read(page * PAGE, PAGE, signal),
    retry: false,
  });
  const head = useQuery({ ...options(0), placeholderData: (before?: Part<Row>) => before });
  const further = pages.filter((page) => page > 0);
  const results = useQueries({ queries: further.map(options) });
  const show = useCallback((first: number, last: number) => {
    const wanted = pagesOf(first, last);
    setPages((before) => (before.join() === wanted.join() ? before : wanted));
  }, []);
  return {
    total: head.data?.total ?? 0,
    at: (index) => {
      const page = Math.floor(index / PAGE);
      const part = page === 0 ? head.data : results[further.indexOf(page)]?.data;
      return part?.rows[index % PAGE];
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

/** The numbers of the pages that hold the rows. */
export function pagesOf(first: number, last: number): number[] {
  const from = Math.floor(Math.max(first, 0) / PAGE);
  const to = Math.floor(Math.max(last, 0) / PAGE);
  return Array.from({ length: to - from + 1 }, (_, place) => from + place);
}
