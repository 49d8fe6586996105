import { useLocalStorage } from '@mantine/hooks';

/** Whether long lines of logs wrap: as the reader chose last, at first only where a line has little room. */
export function useLineWrap() {
  return useLocalStorage({ key: 'podyard-log-wrap', defaultValue: matchMedia('(max-width: 48em)').matches });
}
