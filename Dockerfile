# docker build -t attunebench .
# docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" attunebench demo
FROM python:3.12-slim AS build
# .dockerignore lists what of the checkout is here.
COPY . /src
RUN python -m venv --without-pip /opt/attunebench \
    && pip --python /opt/attunebench/bin/python install --no-cache-dir --disable-pip-version-check "/src[analyses,data]"

FROM python:3.12-slim
COPY --from=build /opt/attunebench /opt/attunebench
# Any user of the host may be given by --user: HOME is where each of them can write.
ENV PATH="/opt/attunebench/bin:$PATH" HOME=/tmp
RUN useradd --no-create-home bench && install -d -o bench -g bench /work
USER bench
WORKDIR /work
ENTRYPOINT ["attune-bench"]
CMD ["--help"]
