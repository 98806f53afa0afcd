"""Playing sources in browsers: manifests at once, segments when somebody asks for them."""
