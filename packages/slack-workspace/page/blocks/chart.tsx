import { type JsonObject, listOf, numberOf, objectOf, objectsOf, textOf } from '../json.ts';
import { chooseScale } from '../scale.ts';

interface Bar {
  label: string;
  value: number;
}

const WIDTH = 560;
const HEIGHT = 200;
const LEFT = 34;
const BOTTOM = 44;
const TOP = 12;

/** A bar chart, with a table for screen readers. */
export function ChartBlock({ block }: { block: JsonObject }) {
  const chart = objectOf(block, 'chart');
  const axis = objectOf(chart, 'axis_config');
  const [series] = objectsOf(chart, 'series');
  const points = new Map(
    objectsOf(series, 'data').map((point) => [textOf(point, 'label'), numberOf(point, 'value')]),
  );
  const bars = listOf(axis, 'categories').flatMap((label) =>
    typeof label === 'string' ? [{ label, value: points.get(label) ?? 0 }] : [],
  );
  const title = textOf(block, 'title') ?? 'Chart';
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <Bars bars={bars} xLabel={textOf(axis, 'x_label') ?? ''} yLabel={textOf(axis, 'y_label') ?? ''} />
      <div class="for-screen-readers">
        <table>
          <caption>{title}</caption>
          <thead>
            <tr>
              <th scope="col">{textOf(axis, 'x_label') ?? 'Label'}</th>
              <th scope="col">{textOf(series, 'name')}</th>
            </tr>
          </thead>
          <tbody>
            {bars.map(({ label, value }) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td>{value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

interface BarsProps {
  bars: readonly Bar[];
  xLabel: string;
  yLabel: string;
}

function Bars({ bars, xLabel, yLabel }: BarsProps) {
  const { top, step } = chooseScale(Math.max(0, ...bars.map(({ value }) => value)));
  const floor = HEIGHT - BOTTOM;
  const slot = (WIDTH - LEFT) / Math.max(1, bars.length);
  const width = slot * 0.7;
  const y = (value: number): number => floor - (value / top) * (floor - TOP);
  const lines = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  // Two rows of labels keep long ones from overlapping.
  const crowded = slot < 64;
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      {lines.map((value) => (
        <g key={value}>
          <line class="grid" x1={LEFT} x2={WIDTH} y1={y(value)} y2={y(value)} />
          <text class="tick" x={LEFT - 6} y={y(value) + 4} text-anchor="end">
            {value}
          </text>
        </g>
      ))}
      {bars.map(({ label, value }, index) => {
        const middle = LEFT + (index + 0.5) * slot;
        return (
          <g key={label}>
            <rect
              class="bar"
              x={middle - width / 2}
              y={y(value)}
              width={width}
              height={floor - y(value)}
              rx={2}
            />
            {value > 0 && (
              <text class="value" x={middle} y={y(value) - 3} text-anchor="middle">
                {value}
              </text>
            )}
            <text
              class="tick"
              x={middle}
              y={floor + 14 + (crowded && index % 2 === 1 ? 12 : 0)}
              text-anchor="middle"
            >
              {label}
            </text>
          </g>
        );
      })}
      <text class="axis" x={(LEFT + WIDTH) / 2} y={HEIGHT - 2} text-anchor="middle">
        {xLabel}
      </text>
      <text class="axis" x={10} y={floor / 2} text-anchor="middle" transform={`rotate(-90 10 ${floor / 2})`}>
        {yLabel}
      </text>
    </svg>
  );
}
