/** An endless-capacity async iterator that someone else fills; leaving the loop calls `onreturn`. */
export class EventStream<T> implements AsyncIterableIterator<T> {
	#waiting: ((result: Promise<IteratorResult<T>>) => void)[] = [];
	#values: T[] = [];
	#end: { error?: Error } | undefined;
	#onreturn: () => void;

	constructor(onreturn: () => void = () => {}) {
		this.#onreturn = onreturn;
	}

	push(value: T) {
		if (this.#end) return;
		const waiting = this.#waiting.shift();
		if (waiting) waiting(Promise.resolve({ value, done: false }));
		else this.#values.push(value);
	}

	/** No more values. With an error, the reader gets it after the values still unread. */
	end(error?: Error) {
		if (this.#end) return;
		this.#end = error ? { error } : {};
		for (const waiting of this.#waiting.splice(0)) waiting(this.#finish());
	}

	next(): Promise<IteratorResult<T>> {
		if (this.#values.length > 0) {
			return Promise.resolve({ value: this.#values.shift()!, done: false });
		}
		if (this.#end) return this.#finish();
		return new Promise((resolve) => this.#waiting.push(resolve));
	}

	return(): Promise<IteratorResult<T>> {
		this.#onreturn();
		this.#values = [];
		this.end();
		return Promise.resolve({ value: undefined, done: true });
	}

	[Symbol.asyncIterator]() {
		return this;
	}

	#finish(): Promise<IteratorResult<T>> {
		const error = this.#end?.error;
		if (!error) return Promise.resolve({ value: undefined, done: true });
		this.#end = {};
		return Promise.reject(error);
	}
}
