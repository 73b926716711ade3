"""One service for the tests of a module: to start one takes seconds."""

from collections.abc import Iterator

import pytest

from tests.service.personalizer.speaking import Shop, shop


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop(tmp_path_factory.mktemp("journal")) as one:
        yield one
