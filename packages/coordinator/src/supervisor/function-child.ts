import type { ChildContext, ChildOptions, ChildSpec } from "./child.js";

/** A child that lives as long as the promise it returns. It must react to its signal: it cannot be killed. */
export function functionChild(
  id: string,
  run: (context: ChildContext) => Promise<unknown>,
  options: ChildOptions = {},
): ChildSpec {
  return {
    ...options,
    id,
    start(context) {
      const ended = run(context).then(
        () => {},
        (error: unknown) => {
          if (!context.signal.aborted) throw error;
        },
      );
      return { ended };
    },
  };
}

/** A child with a start and a stop function, such as a server or a pool. */
export function serviceChild(
  id: string,
  service: { start(context: ChildContext): unknown; stop(): unknown },
  options: ChildOptions = {},
): ChildSpec {
  return {
    ...options,
    id,
    async start(context) {
      await service.start(context);
      let end = (): void => {};
      let crash = (_error: unknown): void => {};
      const ended = new Promise<void>((resolve, reject) => {
        end = resolve;
        crash = reject;
      });
      const stop = async () => {
        try {
          await service.stop();
          end();
        } catch (error) {
          crash(error);
        }
      };
      return { ended, stop };
    },
  };
}
