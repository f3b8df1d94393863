import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, type ReactNode } from "react";

import { count, t } from "../words";
import styles from "./table.module.css";

/** A column: its heading, and what a row shows in it. */
export interface Column<Row> {
  key: string;
  title: string;
  cell: (row: Row) => ReactNode;
  /** What the heading is read as, where it shows nothing. */
  label?: string;
  width?: string;
  number?: boolean;
  /** Dropped first where the screen is narrow. */
  minor?: boolean;
}

const WINDOWED_FROM = 200;

/**
 * Rows of a list. Up to 200 are plain rows, so that the browser finds text in them; more are
 * windowed. `total` counts what the server has, shown or not.
 */
export function Table<Row>({
  label,
  columns,
  rows,
  rowKey,
  total,
  onOpen,
  onEnd,
}: {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  rowKey: (row: Row) => string;
  total?: number;
  onOpen?: (row: Row) => void;
  onEnd?: () => void;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const windowed = rows.length > WINDOWED_FROM;
  const rowHeight = 37;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    enabled: windowed,
  });
  const items = virtual.getVirtualItems();
  const shown = windowed ? items.map((item) => rows[item.index] as Row) : rows;
  const before = windowed ? (items[0]?.start ?? 0) : 0;
  const after = windowed ? virtual.getTotalSize() - (items.at(-1)?.end ?? 0) : 0;
  const scrolled = () => {
    const at = frame.current;
    if (at && onEnd && at.scrollHeight - at.scrollTop - at.clientHeight < 400) onEnd();
  };
  return (
    <div className={styles.whole}>
      <div
        className={styles.frame}
        data-windowed={windowed || undefined}
        ref={frame}
        onScroll={scrolled}
        tabIndex={0}
        role="region"
        aria-label={label}
      >
        <table className={styles.table} aria-rowcount={total ?? rows.length}>
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
            {shown.map((row) => (
              <tr
                key={rowKey(row)}
                onDoubleClick={
                  onOpen &&
                  (() => {
                    onOpen(row);
                  })
                }
              >
                {columns.map((column) => (
                  <td
                    key={column.key}
                    className={column.minor ? styles.minor : undefined}
                    data-number={column.number || undefined}
                  >
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            ))}
            {after > 0 && <Gap height={after} columns={columns.length} />}
          </tbody>
        </table>
      </div>
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

function Gap({ height, columns }: { height: number; columns: number }) {
  return (
    <tr aria-hidden="true">
      <td colSpan={columns} style={{ height, padding: 0, border: 0 }} />
    </tr>
  );
}
