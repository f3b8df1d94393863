import { notifyManager, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";

import { mayPass, problemOf } from "./client";

/**
 * The mark of queries that pages are made of, whose failure no page shows in its place: rights,
 * realms, words of a model. The frame of the pages shows it.
 */
export const FRAME = { isFrame: true } as const;

/** Why a query of the frame failed, if it may succeed later; undefined: none did. */
export function useUnread(): string | undefined {
  const cache = useQueryClient().getQueryCache();
  return useSyncExternalStore(
    (listener) => cache.subscribe(notifyManager.batchCalls(listener)),
    () => {
      const failed = cache.findAll({
        type: "active",
        predicate: ({ meta, state }) => meta?.isFrame === true && isUnread(state.error),
      });
      return failed[0] && problemOf(failed[0].state.error).detail;
    },
  );
}

/** Reads everything on the page again that failed and may succeed now. */
export function useReadAgain(): () => void {
  const queries = useQueryClient();
  return useCallback(() => {
    readAgain(queries);
  }, [queries]);
}

function readAgain(queries: QueryClient): void {
  void queries.refetchQueries(
    { type: "active", predicate: ({ state }) => isUnread(state.error) },
    { cancelRefetch: false },
  );
}

function isUnread(error: unknown): boolean {
  return error !== null && mayPass(problemOf(error));
}
