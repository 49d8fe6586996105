import { useComputedColorScheme } from '@mantine/core';
import {
  Area,
  AreaChart,
  Bar,
  BarChart,
  CartesianGrid,
  Legend,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from 'recharts';

export interface Series {
  name: string;
  label: string;
  color: string;
}

type Point = { at: number } & Record<string, number | undefined>;

function useColors() {
  const isDark = useComputedColorScheme('light') === 'dark';
  return {
    grid: isDark ? '#373a40' : '#dee2e6',
    text: isDark ? '#c1c2c5' : '#495057',
    paper: isDark ? '#25262b' : '#fff',
  };
}

/**
 * Values over the last minutes: amounts, one area each, on top of each other; or measurements, a line each with a dot where
 * something was measured.
 */
export function TimeChart(props: {
  label: string;
  points: readonly Point[];
  series: readonly Series[];
  areMeasurements?: boolean;
}) {
  const form = props.areMeasurements
    ? ({ type: 'linear', fillOpacity: 0, connectNulls: true, dot: { r: 2 } } as const)
    : ({ type: 'stepAfter', fillOpacity: 0.25, stackId: 'one' } as const);
  const { grid, text, paper } = useColors();
  return (
    <div className="chart" role="img" aria-label={props.label}>
      <ResponsiveContainer>
        <AreaChart data={[...props.points]} margin={{ top: 6, right: 8, bottom: 0, left: -18 }}>
          <CartesianGrid stroke={grid} vertical={false} />
          <XAxis
            dataKey="at"
            type="number"
            domain={['dataMin', 'dataMax']}
            tickFormatter={(at: number) => new Date(at).toLocaleTimeString()}
            stroke={text}
            fontSize={11}
            minTickGap={60}
          />
          <YAxis allowDecimals={false} stroke={text} fontSize={11} />
          <Tooltip
            labelFormatter={(at) => new Date(Number(at)).toLocaleTimeString()}
            contentStyle={{ background: paper, borderColor: grid }}
          />
          {props.series.map(({ name, label, color }) => (
            <Area
              key={name}
              dataKey={name}
              name={label}
              stroke={color}
              fill={color}
              {...form}
              isAnimationActive={false}
            />
          ))}
          <Legend iconSize={10} wrapperStyle={{ fontSize: 12 }} />
        </AreaChart>
      </ResponsiveContainer>
    </div>
  );
}

/** Amounts by period, stacked. */
export function AmountChart(props: {
  label: string;
  rows: readonly ({ period: string } & Record<string, number | string>)[];
  series: readonly Series[];
}) {
  const { grid, text, paper } = useColors();
  return (
    <div className="chart" role="img" aria-label={props.label}>
      <ResponsiveContainer>
        <BarChart data={[...props.rows]} margin={{ top: 6, right: 8, bottom: 0, left: 0 }}>
          <CartesianGrid stroke={grid} vertical={false} />
          <XAxis dataKey="period" stroke={text} fontSize={11} minTickGap={20} />
          <YAxis stroke={text} fontSize={11} tickFormatter={(value: number) => `$${value}`} />
          <Tooltip contentStyle={{ background: paper, borderColor: grid }} cursor={{ fill: grid, fillOpacity: 0.4 }} />
          {props.series.map(({ name, label, color }) => (
            <Bar key={name} dataKey={name} name={label} fill={color} stackId="one" isAnimationActive={false} />
          ))}
          <Legend iconSize={10} wrapperStyle={{ fontSize: 12 }} />
        </BarChart>
      </ResponsiveContainer>
    </div>
  );
}
