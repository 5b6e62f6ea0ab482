import { listenToChannel, openChannels } from "../event-channels.js";

interface SharedWork<Options> {
  /** The channel of the process on which it is asked whether somebody does this already. */
  readonly name: string;
  /** What it is done for, as it is now. */
  readonly provider: () => object;
  readonly options: Options;
  /** Begins; what comes back ends it. */
  readonly start: () => () => void;
  /** Throws where what is done already, with the options that it was begun with, is not what is wanted. */
  readonly check: (begunWith: Options) => void;
}

interface Question<Options> {
  readonly provider: object;
  answer?: { readonly options: Options; readonly join: () => () => void };
}

/**
 * Something that is done once for each provider in this process, until all who wanted it have ended it.
 * Who does it is asked on a channel of the process, so that another copy of this package answers, too.
 */
export function joinOrStart<Options>(work: SharedWork<Options>): () => void {
  const question: Question<Options> = { provider: work.provider() };
  openChannels<Record<string, unknown>>([work.name])[work.name]?.publish(question);
  const { answer } = question;
  if (answer === undefined) return startShared(work);
  work.check(answer.options);
  return answer.join();
}

function startShared<Options>({ name, provider, options, start }: SharedWork<Options>): () => void {
  const users = new Set<object>();
  const stop = start();
  const join = () => {
    const user = {};
    users.add(user);
    return () => {
      if (!users.delete(user) || users.size > 0) return;
      stopAnswering();
      stop();
    };
  };
  const stopAnswering = listenToChannel(name, (message) => {
    const question = message as Question<Options>;
    if (question.provider === provider()) question.answer = { options, join };
  });
  return join();
}
