/** Colors of chart series, legible on the background of each color scheme. */
export const CHART_COLORS = {
  blue: { light: '#1971c2', dark: '#4dabf7' },
  green: { light: '#2b8a3e', dark: '#51cf66' },
  orange: { light: '#f08c00', dark: '#ffa94d' },
  red: { light: '#c92a2a', dark: '#ff6b6b' },
  teal: { light: '#0b7285', dark: '#3bc9db' },
  violet: { light: '#5f3dc4', dark: '#9775fa' },
} as const;

/** One line or area of a chart; `name` is its property of each point. */
export interface Series {
  name: string;
  label: string;
  color: keyof typeof CHART_COLORS;
}
