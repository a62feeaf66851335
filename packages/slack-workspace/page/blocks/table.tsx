import { useState } from 'preact/hooks';
import { type JsonObject, numberOf, textOf } from '../json.ts';
import { type Direction, getCellText, getRows, sortRows } from '../sorting.ts';
import { RichTextBlock } from './rich-text.tsx';

const PAGE_SIZE = 5;

interface Order {
  column: number;
  direction: Direction;
}

export function DataTableBlock({ block }: { block: JsonObject }) {
  const [order, setOrder] = useState<Order>();
  const [page, setPage] = useState(0);
  const [head = [], ...body] = getRows(block);
  const caption = textOf(block, 'caption') ?? 'Table';
  const size = numberOf(block, 'page_size') ?? PAGE_SIZE;
  const rowHeader = numberOf(block, 'row_header_column_index');
  const sorted = order === undefined ? body : sortRows(body, order.column, order.direction);
  const pages = Math.max(1, Math.ceil(sorted.length / size));
  const shownPage = Math.min(page, pages - 1);
  const shown = sorted.slice(shownPage * size, (shownPage + 1) * size);
  const sort = (column: number): void => {
    const descending = order?.column === column && order.direction === 'ascending';
    setOrder({ column, direction: descending ? 'descending' : 'ascending' });
    setPage(0);
  };
  return (
    <div class="data-table">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <section class="table-frame" aria-label={caption} tabIndex={0}>
        <table>
          <caption>{caption}</caption>
          <thead>
            <tr>
              {head.map((cell, column) => (
                <th key={column} scope="col" aria-sort={order?.column === column ? order.direction : 'none'}>
                  <button type="button" class="sort" onClick={() => sort(column)}>
                    {getCellText(cell)}
                    <span aria-hidden="true" class="sort-mark">
                      {order?.column === column ? (order.direction === 'ascending' ? '▲' : '▼') : '↕'}
                    </span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <Rows rows={shown} rowHeader={rowHeader} />
        </table>
      </section>
      {pages > 1 && (
        <nav class="pages" aria-label={`Pages of ${caption}`}>
          <button
            type="button"
            class="button"
            disabled={shownPage === 0}
            onClick={() => setPage(shownPage - 1)}
          >
            Previous
          </button>
          <span aria-live="polite">
            {shownPage * size + 1}–{shownPage * size + shown.length} of {sorted.length}
          </span>
          <button
            type="button"
            class="button"
            disabled={shownPage === pages - 1}
            onClick={() => setPage(shownPage + 1)}
          >
            Next
          </button>
        </nav>
      )}
    </div>
  );
}

function Rows({ rows, rowHeader }: { rows: readonly JsonObject[][]; rowHeader: number | undefined }) {
  return (
    <tbody>
      {rows.map((row, index) => (
        <tr key={index}>
          {row.map((cell, column) =>
            column === rowHeader ? (
              <th key={column} scope="row">
                <Cell cell={cell} />
              </th>
            ) : (
              <td key={column}>
                <Cell cell={cell} />
              </td>
            ),
          )}
        </tr>
      ))}
    </tbody>
  );
}

function Cell({ cell }: { cell: JsonObject }) {
  return textOf(cell, 'type') === 'rich_text' ? <RichTextBlock block={cell} /> : getCellText(cell);
}
