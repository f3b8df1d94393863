import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, type ReactNode } from "react";

import { count, t } from "../words";
import type { PagedList } from "./paged";
import styles from "./table.module.css";

/** A column: its heading, and what a row shows in it. */
export interface Column<Row> {
  key: string;
  title: string;
  cell: (row: Row) => ReactNode;
  /** The accessible name of a heading that shows nothing. */
  label?: string;
  width?: string;
  number?: boolean;
  /** Dropped first on a narrow screen. */
  minor?: boolean;
}

const WINDOWED_FROM = 200;
const ROW_HEIGHT = 37;

interface Shape<Row> {
  label: string;
  columns: Column<Row>[];
  rowKey: (row: Row) => string;
  onOpen?: (row: Row) => void;
}

/**
 * Rows of a list. Up to 200 are plain rows, in which the browser can find text; more are windowed.
 * `total` counts the server's rows, shown or not.
 */
export function Table<Row>({
  rows,
  total,
  onEnd,
  ...shape
}: Shape<Row> & { rows: Row[]; total?: number; onEnd?: () => void }) {
  return (
    <div className={styles.whole}>
      <Rows
        {...shape}
        length={rows.length}
        at={(index) => rows[index]}
        onEnd={onEnd}
        total={total}
      />
      {total !== undefined && (
        <p className={styles.total}>
          {rows.length < total
            ? t("{shown} of {total}", { shown: count(rows.length), total: count(total) })
            : t("{total} in all", { total: count(total) })}
        </p>
      )}
    </div>
  );
}

/** Rows of a list on the server, of any length: only visible rows are loaded. */
export function PagedTable<Row>({ list, ...shape }: Shape<Row> & { list: PagedList<Row> }) {
  return (
    <div className={styles.whole}>
      <Rows {...shape} length={list.total} at={list.at} onRange={list.show} total={list.total} />
      <p className={styles.total}>{t("{total} in all", { total: count(list.total) })}</p>
    </div>
  );
}

function Rows<Row>({
  label,
  columns,
  rowKey,
  onOpen,
  length,
  at,
  total,
  onEnd,
  onRange,
}: Shape<Row> & {
  length: number;
  at: (index: number) => Row | undefined;
  total?: number;
  onEnd?: () => void;
  onRange?: (first: number, last: number) => void;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const windowed = length > WINDOWED_FROM;
  const virtual = useVirtualizer({
    count: length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
    enabled: windowed,
  });
  const items = virtual.getVirtualItems();
  const shown = windowed
    ? items.map((item) => item.index)
    : Array.from({ length }, (_, index) => index);
  const before = windowed ? (items[0]?.start ?? 0) : 0;
  const after = windowed ? virtual.getTotalSize() - (items.at(-1)?.end ?? 0) : 0;
  const first = windowed ? virtual.range?.startIndex : 0;
  const last = windowed ? virtual.range?.endIndex : length - 1;
  useEffect(() => {
    if (onRange && first !== undefined && last !== undefined) onRange(first, last);
  }, [onRange, first, last]);
  const scrolled = () => {
    const at = frame.current;
    if (at && onEnd && at.scrollHeight - at.scrollTop - at.clientHeight < 400) onEnd();
  };
  return (
    <div
      className={styles.frame}
      data-windowed={windowed || undefined}
      ref={frame}
      onScroll={scrolled}
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <table className={styles.table} aria-rowcount={(total ?? length) + 1}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.key}
                scope="col"
                className={column.minor ? styles.minor : undefined}
                data-number={column.number || undefined}
                style={column.width ? { width: column.width } : undefined}
              >
                {column.title}
                {column.label && <span className="visually-hidden">{column.label}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <Gap height={before} columns={columns.length} />}
          {shown.map((index) => {
            const row = at(index);
            return (
              <tr
                key={row === undefined ? index : rowKey(row)}
                data-index={index}
                ref={windowed ? virtual.measureElement : undefined}
                aria-rowindex={windowed ? index + 2 : undefined}
                aria-busy={row === undefined || undefined}
                onDoubleClick={
                  onOpen && row !== undefined
                    ? () => {
                        onOpen(row);
                      }
                    : undefined
                }
              >
                {columns.map((column) => (
                  <td
                    key={column.key}
                    className={column.minor ? styles.minor : undefined}
                    data-number={column.number || undefined}
                  >
                    {row === undefined ? <span className={styles.bone} /> : column.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
          {after > 0 && <Gap height={after} columns={columns.length} />}
        </tbody>
      </table>
    </div>
  );
}

function Gap({ height, columns }: { height: number; columns: number }) {
  return (
    <tr aria-hidden="true">
      <td colSpan={columns} style={{ height, padding: 0, border: 0 }} />
    </tr>
  );
}
