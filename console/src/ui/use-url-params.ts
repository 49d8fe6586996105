import { useSearchParams } from 'react-router';

/** The parameters of the URL, and what sets one of them in place; an empty value removes it. */
export function useUrlParams(): [params: URLSearchParams, set: (name: string, value: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(location.hash.split('?')[1]); // `params` lack a change that isn't rendered yet
    if (value === '') next.delete(name);
    else next.set(name, value);
    setParams(next, { replace: true });
  };
  return [params, set];
}
