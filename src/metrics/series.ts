import { type Metric, type MetricObject, type MetricValue, type Registry } from 'prom-client';

/*
 * A counter and a histogram for what happens with every request. They say what prom-client's say, by the same registry; but
 * prom-client looks its series up by a text made of all labels each time, which takes longer than applying a command.
 */

export function register(registry: Registry, ...metrics: readonly (Tally | Distribution)[]): void {
  for (const metric of metrics) registry.registerMetric(metric as unknown as Metric);
}

type Values = MetricValue<string>[];

/** A counter with two labels, or one: then the second value is empty. */
export class Tally {
  private readonly counts = new Map<string, Map<string, number>>();

  constructor(
    readonly name: string,
    private readonly help: string,
    private readonly labelNames: readonly [string, string?],
  ) {}

  add(first: string, second = '', by = 1): void {
    let counts = this.counts.get(first);
    if (!counts) this.counts.set(first, (counts = new Map()));
    counts.set(second, (counts.get(second) ?? 0) + by);
  }

  get(): MetricObject {
    const values: Values = [];
    const [firstName, secondName] = this.labelNames;
    for (const [first, counts] of this.counts) {
      for (const [second, value] of counts) {
        const labels = secondName === undefined ? {} : { [secondName]: second };
        values.push({ value, labels: { [firstName]: first, ...labels } });
      }
    }
    return described(this.name, this.help, 'counter', values);
  }
}

interface Series {
  /** By bound; last, what is beyond them all. */
  readonly counts: number[];
  sum: number;
}

/** A histogram with one label, or none: then its value is empty. */
export class Distribution {
  private readonly series = new Map<string, Series>();

  constructor(
    readonly name: string,
    private readonly help: string,
    private readonly labelName: string | undefined,
    private readonly bounds: readonly number[],
  ) {
    if (labelName === undefined) this.seriesOf('');
  }

  observe(label: string, value: number): void {
    const series = this.seriesOf(label);
    const { bounds } = this;
    let i = 0;
    while (i < bounds.length && value > bounds[i]!) i++;
    series.counts[i]!++;
    series.sum += value;
  }

  get(): MetricObject {
    const { name, labelName } = this;
    const values: Values = [];
    for (const [label, { counts, sum }] of this.series) {
      const labels = labelName === undefined ? {} : { [labelName]: label };
      let count = 0;
      counts.forEach((inBucket, i) => {
        count += inBucket;
        const le = this.bounds[i] ?? '+Inf';
        values.push({
          metricName: `${name}_bucket`,
          value: count,
          labels: { le, ...labels },
        } as Values[number]);
      });
      values.push({ metricName: `${name}_sum`, value: sum, labels } as Values[number]);
      values.push({ metricName: `${name}_count`, value: count, labels } as Values[number]);
    }
    return described(name, this.help, 'histogram', values);
  }

  private seriesOf(label: string): Series {
    let series = this.series.get(label);
    if (!series) {
      series = { counts: Array.from({ length: this.bounds.length + 1 }, () => 0), sum: 0 };
      this.series.set(label, series);
    }
    return series;
  }
}

function described(name: string, help: string, type: 'counter' | 'histogram', values: Values): MetricObject {
  return { name, help, type, aggregator: 'sum', values } as unknown as MetricObject;
}
