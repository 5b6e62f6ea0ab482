import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Small files that take long. Begun last, one of them would keep one core busy while the others idle. */
const LONG = ["examples", "package", "stdio", "endurance", "fleet", "chaos", "bench", "stdio-orphans"];

/** Without knowledge of earlier runs, vitest begins with the largest files. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- no array, but the sequencer of vitest
    const others = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) =>
      LONG.some((name) => moduleId.endsWith(`/${name}.test.ts`));
    return [...others.filter(isLong), ...others.filter((file) => !isLong(file))];
  }
}
