import { Component, type ReactNode } from 'react';

interface Props {
  /** Called with what was thrown; the children are gone then. */
  onError: (error: unknown) => void;
  children: ReactNode;
}

/** Keeps an error of something beside the pages from taking the whole console with it. */
export class ErrorGuard extends Component<Props, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override componentDidCatch(error: unknown) {
    this.props.onError(error);
  }

  override render() {
    return this.state.hasFailed ? null : this.props.children;
  }
}
