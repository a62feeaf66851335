import { type JsonObject, listOf, numberOf, objectOf, objectsOf, textOf } from '../json.ts';
import { scaleFor } from '../scale.ts';

interface Series {
  name: string;
  values: number[];
}

const WIDTH = 560;
const HEIGHT = 200;
const LEFT = 34;
const BOTTOM = 44;
const TOP = 12;

/** A chart: bars for the eye, a table for everybody else. Kinds without a drawing show the table alone. */
export function ChartBlock({ block }: { block: JsonObject }) {
  const chart = objectOf(block, 'chart');
  const { categories, series } = chartData(chart);
  const axis = objectOf(chart, 'axis_config');
  const title = textOf(block, 'title') ?? 'Chart';
  const isBars = textOf(chart, 'type') === 'bar';
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      {isBars && (
        <Bars
          categories={categories}
          series={series}
          xLabel={textOf(axis, 'x_label') ?? ''}
          yLabel={textOf(axis, 'y_label') ?? ''}
        />
      )}
      {series.length > 1 && isBars && (
        <ul class="legend" aria-hidden="true">
          {series.map(({ name }, index) => (
            <li key={name} class={`series-${index}`}>
              {name}
            </li>
          ))}
        </ul>
      )}
      <div class={isBars ? 'for-screen-readers' : undefined}>
        <table>
          <caption>{title}</caption>
          <thead>
            <tr>
              <th scope="col">{textOf(axis, 'x_label') ?? 'Label'}</th>
              {series.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {categories.map((category, index) => (
              <tr key={category}>
                <th scope="row">{category}</th>
                {series.map(({ name, values }) => (
                  <td key={name}>{values[index] ?? ''}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

function chartData(chart: JsonObject | undefined): { categories: string[]; series: Series[] } {
  const segments = objectsOf(chart, 'segments');
  if (segments.length > 0) {
    return {
      categories: segments.map((point) => textOf(point, 'label') ?? ''),
      series: [{ name: 'Value', values: segments.map((point) => numberOf(point, 'value') ?? 0) }],
    };
  }
  const categories = listOf(objectOf(chart, 'axis_config'), 'categories').filter(
    (category) => typeof category === 'string',
  );
  const series = objectsOf(chart, 'series').map((one) => {
    const points = new Map(
      objectsOf(one, 'data').map((point) => [textOf(point, 'label'), numberOf(point, 'value') ?? 0]),
    );
    return {
      name: textOf(one, 'name') ?? '',
      values: categories.map((category) => points.get(category) ?? 0),
    };
  });
  return { categories, series };
}

interface BarsProps {
  categories: readonly string[];
  series: readonly Series[];
  xLabel: string;
  yLabel: string;
}

function Bars({ categories, series, xLabel, yLabel }: BarsProps) {
  const { top, step } = scaleFor(Math.max(0, ...series.flatMap(({ values }) => values)));
  const floor = HEIGHT - BOTTOM;
  const slot = (WIDTH - LEFT) / Math.max(1, categories.length);
  const width = (slot * 0.7) / Math.max(1, series.length);
  const y = (value: number): number => floor - (value / top) * (floor - TOP);
  const lines = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  // Labels in two heights keep long ones from running into each other.
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
      {series.map(({ name, values }, place) =>
        values.map((value, index) => {
          const x = LEFT + index * slot + slot * 0.15 + place * width;
          return (
            <g key={`${name} ${categories[index]}`}>
              <rect
                class={`bar series-${place}`}
                x={x}
                y={y(value)}
                width={width}
                height={floor - y(value)}
                rx={2}
              />
              {value > 0 && (
                <text class="value" x={x + width / 2} y={y(value) - 3} text-anchor="middle">
                  {value}
                </text>
              )}
            </g>
          );
        }),
      )}
      {categories.map((category, index) => (
        <text
          key={category}
          class="tick"
          x={LEFT + (index + 0.5) * slot}
          y={floor + 14 + (crowded && index % 2 === 1 ? 12 : 0)}
          text-anchor="middle"
        >
          {category}
        </text>
      ))}
      <text class="axis" x={(LEFT + WIDTH) / 2} y={HEIGHT - 2} text-anchor="middle">
        {xLabel}
      </text>
      <text class="axis" x={10} y={floor / 2} text-anchor="middle" transform={`rotate(-90 10 ${floor / 2})`}>
        {yLabel}
      </text>
    </svg>
  );
}
